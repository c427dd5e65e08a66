import { Menu as Base } from '@base-ui/react/menu';
import type { ReactElement } from 'react';
import { t } from '../languages/text.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

export interface MenuEntry {
  readonly words: string;
  readonly isDanger?: boolean;
  /** Of several it is the one that holds; undefined: it is no choice. */
  readonly isChosen?: boolean;
  /** A link instead of an act. */
  readonly href?: string;
  readonly onSelect?: () => void;
}

/** What can be done with one thing, behind one button. */
export function Menu({
  label,
  entries,
  trigger,
}: {
  label: string;
  entries: readonly MenuEntry[];
  trigger?: ReactElement;
}) {
  return (
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
}
