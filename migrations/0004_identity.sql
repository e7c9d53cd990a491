CREATE TABLE `database_identity` (
	`lineage` text PRIMARY KEY NOT NULL,
	`generation` text NOT NULL,
	`restored_from` text
);
--> statement-breakpoint
INSERT INTO `database_identity` (`lineage`, `generation`) VALUES (lower(hex(randomblob(16))), lower(hex(randomblob(16))));--> statement-breakpoint
ALTER TABLE `properties` ADD `card` text;--> statement-breakpoint
ALTER TABLE `properties` ADD `former_slugs` text DEFAULT '[]' NOT NULL;--> statement-breakpoint
CREATE INDEX `properties_with_former_slugs` ON `properties` (`former_slugs`) WHERE "properties"."former_slugs" <> '[]';