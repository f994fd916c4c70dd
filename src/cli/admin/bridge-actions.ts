/** What `reveille bridge add|revoke` does: asks the running server, or changes the store at rest. */
import { advised } from './advised.ts';
import { CommandError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { reveilleCommand } from '../api/invocation.ts';
import { changeRegistry } from './change-registry.ts';
import { isInRegistry } from './registry-look.ts';
import { showable } from '../shell/showable.ts';

export interface AddBridgeOptions {
  /** Application ids, at least one. */
  readonly app: readonly string[];
  readonly replace?: boolean;
}

export async function addBridge(
  { clock, dataDirectory, output }: CommandContext,
  id: string,
  { app, replace }: AddBridgeOptions,
): Promise<void> {
  if (replace !== true && (await isInRegistry(dataDirectory, 'bridge', id)))
    throw new CommandError(
      `bridge ${JSON.stringify(id)} is in the registry already`,
      'give it a new key with --replace: who shows the old one is sent away',
    );
  const fresh = await advised(`see which there are: ${reveilleCommand('registry list applications')}`, () =>
    changeRegistry(dataDirectory, clock, (changes) => changes.addBridge(id, app)),
  );
  output.answer(fresh, `added ${showable(id)} for ${app.join(', ')}\nkey  ${fresh.key}  (shown this once)`);
}

export async function revokeBridge(
  { clock, dataDirectory, output }: CommandContext,
  id: string,
  revoked: boolean,
): Promise<void> {
  const bridge = await advised(`see which there are: ${reveilleCommand('bridge list')}`, () =>
    changeRegistry(dataDirectory, clock, (changes) => changes.revokeBridge(id, revoked)),
  );
  output.answer(
    { bridge },
    revoked ? `${showable(id)} is revoked` : `the key of ${showable(id)} is good again`,
  );
}
