CREATE TABLE `amenities` (
	`slug` text PRIMARY KEY NOT NULL,
	`label` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `import_staging` (
	`kind` text NOT NULL,
	`key` text NOT NULL,
	`import_id` text NOT NULL,
	`row` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `locations` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text,
	`name` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `locations_slug` ON `locations` (`slug`);--> statement-breakpoint
CREATE TABLE `properties` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`status` text NOT NULL,
	`type` text,
	`location_id` text,
	`display_order` integer NOT NULL,
	`rendering` text NOT NULL,
	`document` text,
	`source` text NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `properties_slug` ON `properties` (`slug`);--> statement-breakpoint
CREATE INDEX `properties_by_status` ON `properties` (`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_type` ON `properties` (`type`,`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_location` ON `properties` (`location_id`,`status`,`display_order`,`id`);--> statement-breakpoint
CREATE INDEX `properties_by_location_and_type` ON `properties` (`location_id`,`type`,`status`,`display_order`,`id`);