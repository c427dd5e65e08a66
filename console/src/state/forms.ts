import { type FormEvent, useState } from 'react';

/** @returns a function that runs the action, whether it is running, and its error */
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

type TypedFields = Readonly<Record<string, string>>;

/** @returns a handler that submits a form without leaving the page */
export const handleSubmit = (act: (form: HTMLFormElement) => void) => (event: FormEvent<HTMLFormElement>) => {
  event.preventDefault();
  act(event.currentTarget);
};

/** The same for a form, with its input by the names of the fields. */
export function useSubmit(act: (typed: TypedFields, form: HTMLFormElement) => Promise<unknown>) {
  const { run, ...state } = useAct((form: HTMLFormElement) =>
    act(Object.fromEntries(new FormData(form)) as TypedFields, form),
  );
  return { ...state, onSubmit: handleSubmit((form) => void run(form)) };
}
