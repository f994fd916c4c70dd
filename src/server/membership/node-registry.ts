/** The registry as a node has it: mirrored from the bucket that all nodes share, its own changes on their way there. */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { RegistryMirror } from '../../cluster/registry/registry-mirror.ts';
import { RegistryPublisher } from '../../cluster/registry/registry-publisher.ts';
import type { Log } from '../../lib/log.ts';
import type { AppliedChanges } from '../../storage/registry/mirrored-rows.ts';
import { MirroredRegistryStore } from '../../storage/registry/mirrored-registry.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import type { RegistryOwner } from './membership.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

export interface NodeRegistryDeps {
  readonly link: Pick<NodeTransport, 'isUnavailable' | 'onChange' | 'bucket' | 'bucketTail'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly tables: RegistryTables;
  /** What others have changed is here. Must not throw. */
  readonly applied: (changes: AppliedChanges) => void;
}

/** A start waits so long for what others have; then it goes on with what is here, and the rest comes behind. */
const caughtUpMsMax = 120_000;

export class NodeRegistry {
  readonly #deps: NodeRegistryDeps;
  readonly #store: MirroredRegistryStore;
  readonly #mirror: RegistryMirror;
  readonly #publisher: RegistryPublisher;
  #unfollow: Cancel = () => undefined;

  constructor(deps: NodeRegistryDeps) {
    const { link, clock, log } = deps;
    const kv = link.bucket('registry');
    this.#deps = deps;
    this.#store = new MirroredRegistryStore(deps);
    this.#mirror = new RegistryMirror({
      source: link.bucketTail('registry'),
      registry: this.#store,
      clock,
      log,
    });
    this.#publisher = new RegistryPublisher({
      registry: this.#store,
      clock,
      log,
      put: (key, value) => kv.put(key, value),
    });
  }

  get lag(): number {
    return this.#mirror.lag;
  }

  /** Resolves when what others have is here, as far as NATS can be reached: before this node makes changes of its own. */
  async start(): Promise<void> {
    const { link, log } = this.#deps;
    await this.#store.adopt();
    this.#mirror.start();
    if (link.isUnavailable)
      log.warn({}, 'the registry cannot be mirrored now: this node starts with what it has');
    else if (!(await this.#mirror.caughtUp(caughtUpMsMax)))
      log.warn({ lag: this.lag }, 'the registry is not mirrored yet: this node starts with what it has');
    this.#publisher.start();
    this.#unfollow = link.onChange((isUnavailable) => {
      if (!isUnavailable) this.#publisher.poke();
    });
  }

  /** A change was made here. */
  changed(): void {
    this.#store.changed();
  }

  async stop(): Promise<void> {
    this.#unfollow();
    await this.#publisher.stop();
    await this.#mirror.stop();
  }
}

/** Another node's changes come into force here: nothing is kept of what was, nobody stays who may not. */
export function applyRegistryChanges(
  context: ServerContext,
  controlPlane: Pick<RegistryOwner, 'registryApplied'>,
  { credentials, devices }: AppliedChanges,
): void {
  const { registry, signingKeys, deviceIndex } = context;
  registry.purge(credentials);
  for (const deviceId of devices) deviceIndex.forget(deviceId);
  for (const accessKeyId of credentials) signingKeys.purge(accessKeyId);
  controlPlane.registryApplied();
}
