import { type ReactNode, useState } from 'react';
import { t } from '../languages/text.ts';
import { tell } from '../state/done.ts';
import { useRights } from '../state/session.tsx';
import { Button } from './button.tsx';
import { DialogButton, FormDialog } from './dialog.tsx';
import { SelectField } from './forms/field.tsx';
import { Card } from './page.tsx';
import { Code } from './show.tsx';

interface OnceShape {
  title: string;
  about: string;
  label: string;
  /** Undefined where it was lost: the service keeps none. */
  value: string | undefined;
  lost?: string;
  onDone(): void;
}

/** A secret, this once. */
export function OnceShown({ title, about, label, value, lost, onDone }: OnceShape) {
  return (
    <Card title={title} actions={<Button onClick={onDone}>{t('I have saved it')}</Button>}>
      <p className={value === undefined ? undefined : 'soft'}>{value === undefined ? lost : about}</p>
      {value !== undefined && <Code text={value} label={label} />}
    </Card>
  );
}

const HOUR_S = 3_600;

interface RotateShape {
  title: string;
  /** What gets another value. */
  label: string;
  isOpen: boolean;
  onClose(): void;
  onRotate(overlapSeconds: number): Promise<unknown>;
  children?: ReactNode;
}

/** How long the old value may work beside the new one. Source: docs/interface.md §6.1 rule 5, §14.2 rule 14. */
export function RotateDialog({ label, onRotate, children, ...dialog }: RotateShape) {
  const [overlap, setOverlap] = useState<string>(String(24 * HOUR_S));
  return (
    <FormDialog {...dialog} action={t('Rotate')} onSubmit={() => onRotate(Number(overlap))}>
      {children}
      <SelectField
        label={label}
        choices={[
          ['0', t('Ends at once')],
          [String(HOUR_S), t('Works for another hour')],
          [String(24 * HOUR_S), t('Works for another day')],
          [String(7 * 24 * HOUR_S), t('Works for another 7 days')],
        ]}
        value={overlap}
        onChange={setOverlap}
      />
    </FormDialog>
  );
}

interface UrlShape {
  title: string;
  /** Whose URL it is. */
  of: 'webhook' | 'channel';
  url: string;
  /** What happens to the present one. */
  warning: string;
  renew(): Promise<unknown>;
  children: ReactNode;
}

/** An address that is enough by itself; another one can take its place. */
export function UrlCard({ title, of, url, warning, renew, children }: UrlShape) {
  const { canChange } = useRights();
  const submit = async () => {
    await renew();
    tell.good(t('The {of} has a new URL', { of }));
  };
  return (
    <Card
      title={title}
      actions={
        canChange && (
          <DialogButton
            words={t('New URL …')}
            title={t('Change the URL of the {of}', { of })}
            action={t('Create a new URL')}
            isDanger
            onSubmit={submit}
          >
            <p>{warning}</p>
          </DialogButton>
        )
      }
    >
      {children}
      <Code label={t('The URL of the {of}', { of })} text={url} />
    </Card>
  );
}
