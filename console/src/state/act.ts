import { type FormEvent, useEffect, useState } from 'react';

/** @returns what does something, once at a time; whether it is being done, and why it failed */
export function useAct<Given = void>(act: (given: Given) => Promise<unknown>) {
  const [error, setError] = useState<unknown>();
  const [isBusy, setBusy] = useState(false);
  const run = async (given: Given) => {
    setBusy(true);
    setError(undefined);
    await act(given).catch(setError);
    setBusy(false);
  };
  return { run, error, setError, isBusy };
}

type Typed = Readonly<Record<string, string>>;

/** The same for a form: it is given what was typed, by the names of the fields. */
export function useSubmit(act: (typed: Typed, form: HTMLFormElement) => Promise<unknown>) {
  const { run, ...state } = useAct((form: HTMLFormElement) =>
    act(Object.fromEntries(new FormData(form)) as Typed, form),
  );
  const onSubmit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    void run(event.currentTarget);
  };
  return { ...state, onSubmit };
}

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
