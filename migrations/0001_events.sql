CREATE TABLE `events` (
	`seq` integer PRIMARY KEY NOT NULL,
	`id` text NOT NULL,
	`key_id` text,
	`fingerprint` text,
	`receipt` text,
	`type` text NOT NULL,
	`aggregate_type` text NOT NULL,
	`aggregate_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`payload` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id` ON `events` (`id`);--> statement-breakpoint
CREATE INDEX `events_by_key` ON `events` (`key_id`) WHERE "events"."key_id" is not null;--> statement-breakpoint
CREATE INDEX `events_by_aggregate` ON `events` (`aggregate_id`);