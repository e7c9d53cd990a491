CREATE TABLE `operations` (
	`id` text PRIMARY KEY NOT NULL,
	`at` integer NOT NULL,
	`who` text NOT NULL,
	`commit` text,
	`command` text NOT NULL,
	`file` text,
	`counts` text NOT NULL,
	`export_id` text
);
--> statement-breakpoint
ALTER TABLE `properties` ADD `operation` text;