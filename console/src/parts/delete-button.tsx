import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { useProject } from '../state/project.ts';
import { goTo, linkTo } from '../state/route.ts';
import { Button } from './button.tsx';
import { FormDialog } from './dialog.tsx';
import type { Defined } from './forms/draft.tsx';

/** Deletes what somebody defined, and goes to its list. */
export function DeleteButton({
  what,
  name,
  remove,
  children,
}: {
  what: Defined;
  name: string;
  remove(): Promise<unknown>;
  children: ReactNode;
}) {
  const project = useProject();
  const queries = useQueryClient();
  const [isOpen, setOpen] = useState(false);
  const submit = async () => {
    await remove();
    await queries.invalidateQueries({ queryKey: [`${what}s`, project.id] });
    setTimeout(() => goTo(linkTo('projects', project.id, `${what}s`)));
  };
  return (
    <>
      <Button look="danger" onClick={() => setOpen(true)}>
        {t('Delete …')}
      </Button>
      <FormDialog
        title={t('Delete {name}', { name })}
        action={t('Delete the {what}', { what })}
        isDanger
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        onSubmit={submit}
      >
        <p>{children}</p>
      </FormDialog>
    </>
  );
}
