import { Dialog as Base } from '@base-ui/react/dialog';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { t } from '../languages/text.ts';
import { Button, IconButton, type IconName, type Look } from './button.tsx';
import { ErrorNote } from './page.tsx';

interface DialogShape {
  title: string;
  isOpen: boolean;
  onClose(): void;
  isWide?: boolean;
  /** Neither a cross nor Escape closes it. */
  isFirm?: boolean;
  children: ReactNode;
}

export function Dialog({ title, isOpen, onClose, isWide, isFirm, children }: DialogShape) {
  const popup = useRef<HTMLDivElement>(null);
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className="backdrop" />
        <Base.Popup
          ref={popup}
          className={isWide ? 'dialog wide' : 'dialog'}
          initialFocus={() => findStart(popup.current)}
        >
          <div className="row spread">
            <Base.Title>{title}</Base.Title>
            {!isFirm && <Base.Close render={<IconButton icon="cross" label={t('Close')} />} />}
          </div>
          {children}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  );
}

const FIELDS = ['input:enabled:not([readonly])', 'select:enabled', 'textarea:enabled'].join();
/** Cancel stands first. */
const LEAST_HARM = '.dialog-foot [type=button]';

/** @returns where the keyboard begins: the dialog as a whole where there is nothing but its cross */
function findStart(popup: HTMLElement | null): HTMLElement | null {
  const find = (what: string) => popup?.querySelector<HTMLElement>(what);
  return find(FIELDS) ?? find(LEAST_HARM) ?? popup;
}

interface FormShape extends Omit<DialogShape, 'children' | 'isOpen'> {
  /** As long as it is drawn, where nothing else is said. */
  isOpen?: boolean;
  action: string;
  isDanger?: boolean;
  canSubmit?: boolean;
  /** There is nothing to be done but to close it. */
  isReadOnly?: boolean;
  /** Something typed would be lost: that is asked before it is closed. */
  isUnsaved?: boolean;
  /** Closes the dialog when it succeeds; what it throws is shown. */
  onSubmit(): Promise<unknown>;
  children?: ReactNode;
}

interface ButtonShape extends Omit<FormShape, 'isOpen' | 'onClose'> {
  words: string;
  icon?: IconName;
  look?: Look;
  onClose?(): void;
}

/** The button that opens such a dialog, and the dialog. */
export function DialogButton({ words, icon, look, onClose, ...form }: ButtonShape) {
  const [isOpen, setOpen] = useState(false);
  const close = () => {
    setOpen(false);
    onClose?.();
  };
  return (
    <>
      <Button {...{ icon, look }} onClick={() => setOpen(true)}>
        {words}
      </Button>
      <FormDialog {...form} isOpen={isOpen} onClose={close} />
    </>
  );
}

/** A dialog that does one thing: its fields, what went wrong, and two buttons. */
export function FormDialog({
  action,
  isDanger,
  canSubmit = true,
  isReadOnly,
  isUnsaved = false,
  onSubmit,
  children,
  isOpen = true,
  ...dialog
}: FormShape) {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const [isAsking, setAsking] = useState(false);
  const closings = useRef(0);
  const close = () => {
    closings.current += 1;
    setError(undefined);
    setAsking(false);
    dialog.onClose();
  };
  // Escape and a click beside the dialog may be pressed twice by mistake: the button alone leaves.
  const leave = () => (isUnsaved ? setAsking(true) : close());
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    const before = closings.current;
    // What was closed meanwhile may be open once more, with something else in it.
    await onSubmit().then(() => closings.current === before && close(), setError);
    setBusy(false);
  };
  return (
    <Dialog {...dialog} isOpen={isOpen} onClose={leave}>
      <form className="stack" onSubmit={(event) => void submit(event)}>
        {children}
        <ErrorNote error={error} />
        {isAsking && (
          <p className="note warn" role="alert">
            {t('Leave without saving?')} {t('What you changed is lost.')}
          </p>
        )}
        <div className="dialog-foot">
          {isAsking && <Button onClick={() => setAsking(false)}>{t('Stay here')}</Button>}
          <Button look={isAsking ? 'danger' : 'plain'} onClick={isAsking ? close : leave}>
            {isAsking ? t('Leave without saving') : isReadOnly ? t('Close') : t('Cancel')}
          </Button>
          {!isReadOnly && (
            <Button type="submit" look={isDanger ? 'danger' : 'primary'} busy={isBusy} disabled={!canSubmit}>
              {action}
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  );
}
