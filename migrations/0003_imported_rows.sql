CREATE TABLE `imported_rows` (
	`export_id` text NOT NULL,
	`who` text NOT NULL,
	`record` text NOT NULL,
	`operation` text NOT NULL,
	`marks` text NOT NULL,
	PRIMARY KEY(`export_id`, `who`, `record`)
);
