-- How far each table's settlements were found to be all there, so that an audit goes on from there.
create table verified_tables (
    table_id uuid primary key,
    hand_number bigint not null
) with (fillfactor = 70);
