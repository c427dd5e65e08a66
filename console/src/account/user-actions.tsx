import type { User } from '@relata/client';
import { t } from '../languages/text.ts';
import { IconButton } from '../parts/button.tsx';

/** What an owner does with a user, where it makes sense. */
export function UserActions({
  user,
  isSelf,
  onRoles,
  onPasskeys,
  onRemove,
}: {
  user: User;
  isSelf: boolean;
  onRoles(): void;
  onPasskeys(): void;
  onRemove(): void;
}) {
  const { name, role, signsInWith, passkeys } = user;
  return (
    <>
      {role !== 'owner' && signsInWith === 'password' && (
        <IconButton icon="projects" label={t('Roles of {name} in parts', { name })} onClick={onRoles} />
      )}
      {!isSelf && passkeys > 0 && (
        <IconButton icon="key" label={t('Remove the passkeys of {name}', { name })} onClick={onPasskeys} />
      )}
      {!isSelf && <IconButton icon="cross" label={t('Remove {name}', { name })} onClick={onRemove} />}
    </>
  );
}
