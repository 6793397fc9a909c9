-- What 0002 to 0004 left to the privileges alone, which a superuser does not heed.
create trigger postings_stay before truncate on postings for each statement execute function refuse_change();
create trigger refills_stay before truncate on refills for each statement execute function refuse_change();
create trigger settled_table_stays before delete on settled_tables for each row execute function refuse_change();
create trigger settled_tables_stay before truncate on settled_tables
    for each statement execute function refuse_change();
revoke delete, truncate on settled_tables from current_user, public;
