-- Writes the lines of profiles that have changed since the last run to changes.jsonl, and the starting point of the next run to
-- the file next. feed.sh runs it with psql and sets "since".
--
-- Changes become visible only when their transaction commits. So the next run begins at the oldest transaction that is still
-- open, not after the newest visible one. Some changes are sent twice, which is harmless. No clock is involved, and both queries
-- see the same snapshot.
BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY;

SELECT pg_snapshot_xmin(pg_current_snapshot()) \g next

SELECT coalesce(profile_lines.line, jsonb_build_object('id', changed.id, 'deleted', true))
  FROM profile_changes AS changed LEFT JOIN profile_lines ON profile_lines.id = changed.id
  WHERE changed.changed_in >= :'since'::xid8
    -- A transaction counter lower than last time means another PostgreSQL: all profiles are sent.
    OR :'since'::xid8 > pg_snapshot_xmin(pg_current_snapshot())
  \g changes.jsonl

COMMIT;
