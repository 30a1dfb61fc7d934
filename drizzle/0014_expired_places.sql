CREATE INDEX `api_keys_expires` ON `api_keys` (`state`,`expires_at`) WHERE expires_at IS NOT NULL;--> statement-breakpoint
DROP TRIGGER `api_keys_three_places`;--> statement-breakpoint
CREATE TRIGGER `api_keys_three_places` BEFORE INSERT ON `api_keys`
WHEN (SELECT count(*) FROM `api_keys` WHERE `profile_id` = NEW.`profile_id` AND `state` IN ('pending', 'Active')
	AND (`expires_at` IS NULL OR `expires_at` > NEW.`requested_at`)) >= 3
BEGIN
	SELECT RAISE(ABORT, 'a profile has at most 3 keys');
END;
