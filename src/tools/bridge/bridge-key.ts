/** The key that a simulated bridge shows. */
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';

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
