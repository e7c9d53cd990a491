ALTER TABLE `events` ADD `received_from` text;--> statement-breakpoint
ALTER TABLE `events` ADD `erased_at` integer;