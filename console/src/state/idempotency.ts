/**
 * @returns the `Idempotency-Key` of what somebody is asked to confirm: confirmed again after the network was cut, it is done
 * once, and the first answer comes again (docs/interface.md §7.5). `crypto.randomUUID` is missing over plain HTTP.
 */
export const makeIdempotencyKey = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');
