import { useEffect, useState } from 'react';

/** After the last change, before the service is asked. */
const REST_MS = 600;

/** @returns whether so much time has passed since it was first drawn */
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
