-- Writes the lines of those who have changed since the last run into the file changes.jsonl, and into the file next where the
-- next run is to begin. feed.sh runs it by psql, and gives it "since".
--
-- What a transaction has changed is not seen before it is committed. Therefore the next run begins at the oldest one that is
-- open now, and not behind the newest that is seen. What is seen twice is sent twice, which changes nothing. No clock is
-- asked. Both queries see the same moment.
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;

SELECT pg_snapshot_xmin(pg_current_snapshot()) \g next

SELECT coalesce(profile_lines.line, jsonb_build_object('id', changed.id, 'deleted', true))
  FROM profile_changes AS changed LEFT JOIN profile_lines ON profile_lines.id = changed.id
  WHERE changed.changed_in >= :'since'::xid8
    -- A PostgreSQL that has not come as far as last time is another one: all are sent.
    OR :'since'::xid8 > pg_snapshot_xmin(pg_current_snapshot())
  \g changes.jsonl

COMMIT;
