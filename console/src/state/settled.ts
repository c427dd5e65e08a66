import { useEffect, useState } from 'react';

/** After the last change, before the service is asked. */
const REST_MS = 600;

/** @returns the value once it has not changed for a moment */
export function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}
