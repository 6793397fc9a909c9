-- As its sister in 0002: a plan that was made while the tables were small must not read them whole when they are large.
alter function transfers_are_balanced() set enable_seqscan = off;
alter function transfers_are_balanced() set enable_hashjoin = off;
alter function transfers_are_balanced() set enable_mergejoin = off;
