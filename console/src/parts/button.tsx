import { Menu as Base } from '@base-ui/react/menu';
import {
  type ComponentProps,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  useEffect,
  useState,
} from 'react';
import { t } from '../languages/text.ts';

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
  // A disabled button loses keyboard focus, so a busy one only ignores clicks.
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

export const LinkButton = ({ look = 'plain', icon, children, ...rest }: Shape & ComponentProps<'a'>) => (
  <a {...rest} className={classes(look)}>
    {icon && <Icon name={icon} />}
    {children}
  </a>
);

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

/** Copies a text, and confirms it for two seconds. */
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

/** Pages over plain HTTP have no clipboard API; the old method works there. */
async function copyText(text: string): Promise<boolean> {
  const isWritten = await navigator.clipboard?.writeText(text).then(
    () => true,
    () => false,
  );
  if (isWritten) return true;
  const area = document.createElement('textarea');
  area.value = text;
  document.body.append(area);
  area.select();
  const isDone = document.execCommand('copy');
  area.remove();
  return isDone;
}

const PATHS = {
  overview: 'M3 12h4l2.5-7 5 14L17 12h4',
  start: 'M4 11.500 12 4l8 7.500M6.500 9.500V20h11V9.500M10 20v-5h4v5',
  projects: 'M4 5h7v6H4zM13 5h7v6h-7zM4 13h7v6H4zM13 13h7v6h-7z',
  products: 'M12 3 20 7.5v9L12 21l-8-4.5v-9zM4 7.5l8 4.5 8-4.5M12 12v9',
  ontology: 'M5 6h9M5 12h14M5 18h6M18 4v4M15 16v4',
  relations:
    'M7 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM17 21a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM9 8l6 8M17 8a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM10 6h5',
  fit: 'M4 5h7v3.500a2 2 0 1 0 4 0V5h5v14H4zM4 12h4.500a2 2 0 1 1 0 3.500H4',
  suggestions:
    'M9 18h6M10 21h4M12 3a6 6 0 0 0-3.500 10.900c.600.500 1 1.200 1 2.100h5c0-.900.400-1.600 1-2.100A6 6 0 0 0 12 3z',
  pipelines: 'M3 8h6v8h6V8h6M18 5l3 3-3 3',
  channels: 'M4 10v4h3l9 4.500v-13L7 10zM19.500 9.500a4 4 0 0 1 0 5M8 14.500V19',
  updates: 'M20 11a8 8 0 0 0-14.5-4L3 9.5M3 4.5v5h5M4 13a8 8 0 0 0 14.5 4l2.5-2.5M21 19.5v-5h-5',
  events:
    'M12 13a1 1 0 1 0 0-2 1 1 0 0 0 0 2zM8 8a5.600 5.600 0 0 0 0 8M16 8a5.600 5.600 0 0 1 0 8M5 5a10 10 0 0 0 0 14M19 5a10 10 0 0 1 0 14',
  key: 'M14.5 9.5a4.5 4.5 0 1 0-4 4.47L12 15.5h2v2h2v2h4v-3.5l-5.6-5.6c.07-.3.1-.6.1-.9zM8.5 8h.01',
  settings:
    'M4 7h10M18 7h2M4 17h2M10 17h10M16 9a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM8 19a2 2 0 1 0 0-4 2 2 0 0 0 0 4z',
  users:
    'M9 11a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 20c.5-4 3-6 6.500-6s6 2 6.500 6M16 4.500a3.500 3.500 0 0 1 0 6.500M18 14.500c2 .8 3.200 2.700 3.500 5.500',
  log: 'M6 3h9l4 4v14H6zM14 3v5h5M9 12h7M9 16h7',
  code: 'm8 7-5 5 5 5M16 7l5 5-5 5M13.500 5l-3 14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'm5 12.500 4.500 4.500L19 7.500',
  cross: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  more: 'M12 6h.01M12 12h.01M12 18h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM20 20l-4-4',
  down: 'm7 10 5 5 5-5',
  up: 'm7 14 5-5 5 5',
  right: 'm10 7 5 5-5 5',
  back: 'M19 12H5M11 6l-6 6 6 6',
  download: 'M12 4v11M7 11l5 5 5-5M5 20h14',
  link: 'M14 5h5v5M19 5l-8 8M17 14v5H5V7h5',
  theme: 'M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16',
  leave: 'M14 4H5v16h9M10 12h11M17 8l4 4-4 4',
  group: 'M8 4H5v16h3M16 4h3v16h-3',
} as const;

export type IconName = keyof typeof PATHS;

/** Screen readers skip an icon, because it is always beside words. */
export const Icon = ({ name, size = 16 }: { name: IconName; size?: number }) => (
  <svg
    width={size}
    height={size}
    viewBox="0 0 24 24"
    fill="none"
    stroke="currentColor"
    strokeWidth={name === 'more' ? 3 : 1.8}
    strokeLinecap="round"
    strokeLinejoin="round"
    aria-hidden="true"
  >
    <path d={PATHS[name]} />
  </svg>
);

export interface MenuEntry {
  readonly words: string;
  readonly isDanger?: boolean;
  /** Whether it is the active one of several; undefined if it is not a choice. */
  readonly isChosen?: boolean;
  /** A link instead of an action. */
  readonly href?: string;
  readonly onSelect?: () => void;
}

interface MenuShape {
  label: string;
  entries: readonly MenuEntry[];
  trigger?: ReactElement;
}

/** The actions for one item, behind one button. */
export const Menu = ({ label, entries, trigger }: MenuShape) => (
  <Base.Root>
    <Base.Trigger render={trigger ?? <IconButton icon="more" label={label} />} />
    <Base.Portal>
      <Base.Positioner className="menu-place" sideOffset={4} align="end">
        <Base.Popup className="menu">
          {entries.map(({ words, isDanger, isChosen, href, onSelect }) => (
            <Base.Item
              key={words + (href ?? '')}
              className={isDanger ? 'menu-item danger' : 'menu-item'}
              {...(href && { render: <a href={href}>{words}</a> })}
              onClick={onSelect}
            >
              {words}
              {isChosen && <Icon name="check" />}
              {isChosen && <span className="hidden">{t('chosen')}</span>}
            </Base.Item>
          ))}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  </Base.Root>
);
