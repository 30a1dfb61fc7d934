ALTER TABLE `key_attempts` ADD `by_kind` text DEFAULT 'operator' NOT NULL CONSTRAINT "key_attempts_by_kind" CHECK(`by_kind` IN ('operator', 'admin', 'owner', 'platform', 'service'));
--> statement-breakpoint
ALTER TABLE `key_events` ADD `by_kind` text DEFAULT 'operator' NOT NULL CONSTRAINT "key_events_by_kind" CHECK(`by_kind` IN ('operator', 'admin', 'owner', 'platform', 'service'));
--> statement-breakpoint
DROP TRIGGER `key_events_never_changed`;
--> statement-breakpoint
UPDATE `key_events` SET `by_kind` = 'service' WHERE `event` = 'expired' AND `by` = 'system';
--> statement-breakpoint
CREATE TRIGGER `key_events_never_changed` BEFORE UPDATE ON `key_events`
WHEN NEW.`detail` IS NOT NULL OR NEW.`id` <> OLD.`id` OR NEW.`identifier` <> OLD.`identifier` OR NEW.`at` <> OLD.`at`
	OR NEW.`by` <> OLD.`by` OR NEW.`by_kind` <> OLD.`by_kind` OR NEW.`event` <> OLD.`event`
	OR NEW.`from_state` IS NOT OLD.`from_state` OR NEW.`to_state` <> OLD.`to_state`
BEGIN
	SELECT RAISE(ABORT, 'the history is append-only');
END;
