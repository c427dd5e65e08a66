import { useEffect, useState } from 'react';

/** After the last change, before the service is asked. */
const REST_MS = 600;

/** @returns the value once it has not changed for a moment */
export function useSettled(value: string, restMs = REST_MS): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), restMs);
    return () => clearTimeout(timer);
  }, [value, restMs]);
  return settled;
}
