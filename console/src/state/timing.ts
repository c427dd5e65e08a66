import { useEffect, useState } from 'react';

/** The pause after the last change before the service is called. */
const REST_MS = 600;

/** @returns whether this much time has passed since the first render */
export function useIsLate(ms: number): boolean {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), ms);
    return () => clearTimeout(timer);
  }, [ms]);
  return isLate;
}

/** @returns the value once it has not changed for a moment */
export function useSettled(value: string, restMs = REST_MS): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), restMs);
    return () => clearTimeout(timer);
  }, [value, restMs]);
  return settled;
}
