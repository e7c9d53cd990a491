ALTER TABLE `database_identity` ADD `catalogue_number` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `database_identity` ADD `catalogue_import` text DEFAULT '' NOT NULL;--> statement-breakpoint
ALTER TABLE `database_identity` ADD `catalogue_version` text GENERATED ALWAYS AS (generation || ' ' || catalogue_number || ' ' || catalogue_import) VIRTUAL NOT NULL;