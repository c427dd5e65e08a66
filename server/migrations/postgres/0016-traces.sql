-- The span in which a task was accepted, in the form of W3C Trace Context. The run of the task continues that trace.
alter table task add column traceparent text;
