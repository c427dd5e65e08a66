import { type ReactNode, useState } from 'react';
import { useRights } from '../state/session.tsx';
import { Button } from './button.tsx';
import { FormDialog } from './dialog.tsx';
import { Card } from './page.tsx';
import { Code } from './show.tsx';
import { useTell } from './toasts.tsx';

interface UrlShape {
  title: string;
  /** Whose URL it is. */
  of: string;
  url: string;
  /** What happens to the present one. */
  warning: string;
  renew(): Promise<unknown>;
  children: ReactNode;
}

/** An address that works for whoever has it; another one can take its place. */
export function UrlCard({ title, of, url, warning, renew, children }: UrlShape) {
  const { canChange } = useRights();
  const tell = useTell();
  const [isOpen, setOpen] = useState(false);
  const submit = async () => {
    await renew();
    tell.good(`The ${of} has a new URL`);
  };
  return (
    <Card title={title} actions={canChange && <Button onClick={() => setOpen(true)}>New URL …</Button>}>
      {children}
      <Code label={`The URL of the ${of}`} text={url} />
      <FormDialog
        title={`Change the URL of the ${of}`}
        action="Create a new URL"
        isDanger
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={submit}
      >
        <p>{warning}</p>
      </FormDialog>
    </Card>
  );
}
