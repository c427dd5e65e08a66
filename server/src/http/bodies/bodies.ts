/** The door of bodies: bytes of requests, bounded in size, time and the memory they share. */

export * from './body.ts';
export * from './json-body.ts';
