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
	`received_from` text,
	`erased_at` integer,
	`payload` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `events_id` ON `events` (`id`);--> statement-breakpoint
CREATE INDEX `events_by_key` ON `events` (`key_id`) WHERE "events"."key_id" is not null;--> statement-breakpoint
CREATE INDEX `events_by_aggregate` ON `events` (`aggregate_id`);--> statement-breakpoint
CREATE TABLE `amenities` (
	`slug` text PRIMARY KEY NOT NULL,
	`label` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `import_staging` (
	`kind` text NOT NULL,
	`key` text NOT NULL,
	`import_id` text NOT NULL,
	`row` text NOT NULL,
	`source` text,
	`document` text,
	`card` text
);
--> statement-breakpoint
CREATE TABLE `locations` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text,
	`sort_slug` text GENERATED ALWAYS AS (coalesce(slug, '~')) VIRTUAL,
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `locations_slug` ON `locations` (`slug`);--> statement-breakpoint
CREATE INDEX `locations_by_sort_slug` ON `locations` (`sort_slug`,`id`);--> statement-breakpoint
CREATE TABLE `properties` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`status` text NOT NULL,
	`location_id` text,
	`type` text,
	`display_order` integer NOT NULL,
	`change_seq` integer,
	`changed_at` integer,
	`removed_slug` text,
	`former_slugs` text DEFAULT '[]' NOT NULL,
	`rendering` text NOT NULL,
	`source_hash` text DEFAULT '' NOT NULL,
	`card` text,
	`document` text,
	`source` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `properties_by_change` ON `properties` (`change_seq`);--> statement-breakpoint
CREATE INDEX `properties_with_former_slugs` ON `properties` (`former_slugs`) WHERE "properties"."former_slugs" <> '[]';--> statement-breakpoint
CREATE UNIQUE INDEX `properties_slug` ON `properties` (`slug`);--> statement-breakpoint
CREATE INDEX `properties_by_status` ON `properties` (`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_location` ON `properties` (`location_id`,`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_type` ON `properties` (`type`,`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_location_and_type` ON `properties` (`location_id`,`type`,`status`,`display_order`,`id`);--> statement-breakpoint
CREATE TABLE `database_identity` (
	`lineage` text PRIMARY KEY NOT NULL,
	`generation` text NOT NULL
);--> statement-breakpoint
INSERT INTO `database_identity` (`lineage`, `generation`) VALUES (lower(hex(randomblob(16))), lower(hex(randomblob(16))));
