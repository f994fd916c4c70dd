/** The key that a simulated bridge shows. */
import type { CommandContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { reveilleCommand } from '../api/invocation.ts';

export const keyAdvice = `make one: ${reveilleCommand('bridge add bridge-1 --app APP')}, and name its key with --key`;

/** The one that was named, else the first development key of the settings. Throws a CommandError where there is none. */
export function findBridgeKey({ settings }: CommandContext, named: string | undefined): string {
  const key = named ?? settings.media.bridge_keys[0];
  if (key !== undefined) return key;
  throw new CommandError(
    'no key of a bridge is known: neither --key nor REVEILLE_MEDIA_BRIDGE_KEYS',
    keyAdvice,
  );
}
