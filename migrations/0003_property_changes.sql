ALTER TABLE `properties` ADD `change_seq` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `properties` ADD `changed_at` integer;--> statement-breakpoint
ALTER TABLE `properties` ADD `removed_slug` text;--> statement-breakpoint
ALTER TABLE `properties` ADD `catalogue_end` text;--> statement-breakpoint
CREATE INDEX `properties_by_publication` ON `properties` (`change_seq`,`id`) WHERE "properties"."status" <> 'hidden';--> statement-breakpoint
CREATE INDEX `properties_by_change` ON `properties` (`change_seq`,`id`) WHERE "properties"."status" <> 'hidden' or "properties"."change_seq" > 0;--> statement-breakpoint
CREATE INDEX `locations_by_slug` ON `locations` (`slug`,`id`);