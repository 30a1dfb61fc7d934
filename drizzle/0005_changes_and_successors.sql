ALTER TABLE `api_keys` ADD `successor_of` text REFERENCES api_keys(identifier);
--> statement-breakpoint
ALTER TABLE `key_attempts` ADD `retire_old_at` integer;
--> statement-breakpoint
ALTER TABLE `key_reminders` ADD `expires_at` integer DEFAULT 0 NOT NULL;
--> statement-breakpoint
-- Until now an expiry could not be changed, so every reminder was about the one that the key has.
UPDATE `key_reminders` SET `expires_at` = coalesce(
	(SELECT `expires_at` FROM `api_keys` WHERE `api_keys`.`identifier` = `key_reminders`.`identifier`), 0);
--> statement-breakpoint
CREATE TRIGGER `api_keys_successor` BEFORE INSERT ON `api_keys`
WHEN NEW.`successor_of` IS NOT NULL AND NOT EXISTS (
	SELECT 1 FROM `api_keys`
	WHERE `identifier` = NEW.`successor_of` AND `profile_id` = NEW.`profile_id` AND `state` = 'Active')
BEGIN
	SELECT RAISE(ABORT, 'a successor is requested for an Active key of the same profile');
END;
--> statement-breakpoint
CREATE TRIGGER `api_keys_successor_never_changed` BEFORE UPDATE OF `successor_of` ON `api_keys`
WHEN NEW.`successor_of` IS NOT OLD.`successor_of`
BEGIN
	SELECT RAISE(ABORT, 'what a key succeeds never changes');
END;
