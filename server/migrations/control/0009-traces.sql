-- What a task was accepted in, as W3C Trace Context writes it: its run continues that trace.
alter table task add column traceparent text;
