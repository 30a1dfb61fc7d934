import first from '../../drizzle/0000_first.sql' with { type: 'text' };
import usageAndReminders from '../../drizzle/0001_usage_and_reminders.sql' with { type: 'text' };
import profileChanges from '../../drizzle/0002_profile_changes.sql' with { type: 'text' };
import erasures from '../../drizzle/0003_erasures.sql' with { type: 'text' };
import actors from '../../drizzle/0004_actors.sql' with { type: 'text' };
import changesAndSuccessors from '../../drizzle/0005_changes_and_successors.sql' with { type: 'text' };
import notices from '../../drizzle/0006_notices.sql' with { type: 'text' };
import generation from '../../drizzle/0007_generation.sql' with { type: 'text' };
import people from '../../drizzle/0008_people.sql' with { type: 'text' };
import moreNotices from '../../drizzle/0009_more_notices.sql' with { type: 'text' };
import lastImport from '../../drizzle/0010_last_import.sql' with { type: 'text' };
import platformTokens from '../../drizzle/0011_platform_tokens.sql' with { type: 'text' };
import lastFeed from '../../drizzle/0012_last_feed.sql' with { type: 'text' };
import addressChanges from '../../drizzle/0013_address_changes.sql' with { type: 'text' };
import expiredPlaces from '../../drizzle/0014_expired_places.sql' with { type: 'text' };
import formHash from '../../drizzle/0015_form_hash.sql' with { type: 'text' };
import writtenAt from '../../drizzle/0016_written_at.sql' with { type: 'text' };
import showOnLeaderboard from '../../drizzle/0017_show_on_leaderboard.sql' with { type: 'text' };
import suspended from '../../drizzle/0018_suspended.sql' with { type: 'text' };
import webhook from '../../drizzle/0019_webhook.sql' with { type: 'text' };

/** A step of the schema: its number is its place, from 1. */
export type Migration = { name: string; sql: string };

/** Every migration in order. Never edited after release: their checksums stand in each database. */
export const MIGRATIONS: readonly Migration[] = [
  { name: '0000_first', sql: first },
  { name: '0001_usage_and_reminders', sql: usageAndReminders },
  { name: '0002_profile_changes', sql: profileChanges },
  { name: '0003_erasures', sql: erasures },
  { name: '0004_actors', sql: actors },
  { name: '0005_changes_and_successors', sql: changesAndSuccessors },
  { name: '0006_notices', sql: notices },
  { name: '0007_generation', sql: generation },
  { name: '0008_people', sql: people },
  { name: '0009_more_notices', sql: moreNotices },
  { name: '0010_last_import', sql: lastImport },
  { name: '0011_platform_tokens', sql: platformTokens },
  { name: '0012_last_feed', sql: lastFeed },
  { name: '0013_address_changes', sql: addressChanges },
  { name: '0014_expired_places', sql: expiredPlaces },
  { name: '0015_form_hash', sql: formHash },
  { name: '0016_written_at', sql: writtenAt },
  { name: '0017_show_on_leaderboard', sql: showOnLeaderboard },
  { name: '0018_suspended', sql: suspended },
  { name: '0019_webhook', sql: webhook },
];
