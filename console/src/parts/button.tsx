import type { ComponentProps, MouseEvent, ReactNode } from 'react';
import { useEffect, useState } from 'react';
import { t } from '../languages/text.ts';
import { Icon, type IconName } from './icon.tsx';

export type Look = 'plain' | 'primary' | 'danger' | 'quiet';

interface Shape {
  look?: Look | undefined;
  icon?: IconName | undefined;
  children?: ReactNode;
}

const classes = (look: Look, more = '') => `button ${look === 'plain' ? '' : look} ${more}`.trim();

export function Button({
  look = 'plain',
  icon,
  busy = false,
  children,
  ...rest
}: Shape & { busy?: boolean } & ComponentProps<'button'>) {
  // A button that is disabled loses the keyboard: one that is busy only takes no click.
  const wait = (event: MouseEvent) => event.preventDefault();
  return (
    <button
      type="button"
      {...rest}
      {...(busy && { 'aria-disabled': true, onClick: wait })}
      className={classes(look)}
    >
      {icon && <Icon name={icon} />}
      {busy ? t('One moment …') : children}
    </button>
  );
}

export function LinkButton({ look = 'plain', icon, children, ...rest }: Shape & ComponentProps<'a'>) {
  return (
    <a {...rest} className={classes(look)}>
      {icon && <Icon name={icon} />}
      {children}
    </a>
  );
}

export function IconButton({
  icon,
  label,
  look = 'quiet',
  ...rest
}: { icon: IconName; label: string; look?: Look } & ComponentProps<'button'>) {
  return (
    <button type="button" aria-label={label} title={label} {...rest} className={classes(look, 'icon')}>
      <Icon name={icon} />
    </button>
  );
}

/** Copies a text, and says for two seconds that it did. */
export function CopyButton({ text, label, words }: { text: string; label: string; words?: string }) {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 2000);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = async () => setCopied(await copyText(text));
  return (
    <button
      type="button"
      className={words ? 'button' : 'button quiet icon'}
      aria-label={isCopied ? t('Copied') : label}
      title={label}
      onClick={() => void copy()}
    >
      <Icon name={isCopied ? 'check' : 'copy'} />
      {words && (isCopied ? t('Copied') : words)}
    </button>
  );
}

/** Pages over plain HTTP have no clipboard of their own; there the old way works. */
async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined) {
    const isDone = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    if (isDone) return true;
  }
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}
