-- Prepares the platform's PostgreSQL (14 or later): defines what a profile consists of, records which profiles change, and lets
-- a role read both. Run it as the owner of the tables, in one transaction, and again after changing it:
--   psql -X -v ON_ERROR_STOP=1 -1 -f setup.sql platform
-- The tables here are "users", with the key "id", and "aliases", "badges" and "links", whose "user_id" refers to it. Replace
-- them with yours, here and where the triggers are created.

-- Each profile as a line. Absent fields stay as they are, so omit what the platform does not have, and "banned" if profilectl
-- bans profiles: the next line with false would lift the ban. jsonb contains no line feeds.
CREATE OR REPLACE VIEW profile_lines AS
  SELECT id, jsonb_build_object(
    'id', id,
    'username', name,
    'aliases', (
      SELECT coalesce(jsonb_agg(aliases.name ORDER BY aliases.name), '[]') FROM aliases WHERE aliases.user_id = users.id
    ),
    'authId', auth_id,
    'email', email,
    'displayName', display_name,
    'badges', (
      SELECT coalesce(jsonb_agg(jsonb_build_object('name', badges.name, 'enabled', badges.enabled)
        ORDER BY badges.name), '[]')
      FROM badges WHERE badges.user_id = users.id
    ),
    'assets', jsonb_build_object('avatar', avatar_url, 'banner', banner_url),
    'customize', theme,
    -- This and showOnLeaderboard may not be null in a line.
    'banned', banned IS TRUE,
    'viewsCount', views,
    'showOnLeaderboard', show_on_leaderboard IS NOT FALSE,
    'createdAt', created_at,
    'links', (
      SELECT coalesce(jsonb_agg(jsonb_build_object('id', links.id::text, 'name', links.name, 'link', links.url)
        ORDER BY links.position), '[]')
      FROM links WHERE links.user_id = users.id
    )
  ) AS line
  FROM users;

-- One row for each current or former user: the transaction that last changed it.
CREATE TABLE IF NOT EXISTS profile_changes (
  id bigint PRIMARY KEY,
  changed_in xid8 NOT NULL
);
CREATE INDEX IF NOT EXISTS profile_changes_changed_in ON profile_changes (changed_in);

-- The trigger's argument is the column with the user's id. The function runs with its owner's rights, so programs that write to
-- the tables need no rights on this one.
CREATE OR REPLACE FUNCTION note_profile_change() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
BEGIN
  IF TG_OP = 'TRUNCATE' THEN
    UPDATE profile_changes SET changed_in = pg_current_xact_id();
  ELSE
    -- Both ids if a row moves from one user to another.
    INSERT INTO profile_changes (id, changed_in)
      SELECT DISTINCT (changed ->> TG_ARGV[0])::bigint, pg_current_xact_id()
        FROM unnest(ARRAY[to_jsonb(OLD), to_jsonb(NEW)]) AS changed
        WHERE changed ->> TG_ARGV[0] IS NOT NULL
        ORDER BY 1
      ON CONFLICT (id) DO UPDATE SET changed_in = EXCLUDED.changed_in;
  END IF;
  RETURN NULL;
END $$;

-- Each table that profiles consist of, and its column with the user's id.
DO $$
DECLARE part record;
BEGIN
  FOR part IN VALUES ('users', 'id'), ('aliases', 'user_id'), ('badges', 'user_id'), ('links', 'user_id') LOOP
    EXECUTE format('CREATE OR REPLACE TRIGGER note_profile_change AFTER INSERT OR UPDATE OR DELETE ON %I
      FOR EACH ROW EXECUTE FUNCTION note_profile_change(%L)', part.column1, part.column2);
    EXECUTE format('CREATE OR REPLACE TRIGGER note_profile_truncate AFTER TRUNCATE ON %I
      FOR EACH STATEMENT EXECUTE FUNCTION note_profile_change()', part.column1);
  END LOOP;
END $$;

-- Existing users. Creating the triggers blocks writers until this transaction ends, so no change is missed.
INSERT INTO profile_changes (id, changed_in) SELECT id, pg_current_xact_id() FROM users
  ON CONFLICT (id) DO UPDATE SET changed_in = EXCLUDED.changed_in;

-- The role that sends the lines may read only this.
DO $$ BEGIN
  CREATE ROLE "profile-lookup-feed" LOGIN;
EXCEPTION WHEN duplicate_object THEN NULL;
END $$;
GRANT SELECT ON profile_lines, profile_changes TO "profile-lookup-feed";
