/** The registry of a node: a mirror of the shared bucket, and publication of its own changes. */
import type { CoreDeps } from '../../core/ports/core-deps.ts';
import type { Cancel } from '../../lib/clock.ts';
import type { NodeTransport } from '../../cluster/nats/node-transport.ts';
import { RegistryMirror } from '../../cluster/registry/registry-mirror.ts';
import { RegistryPublisher } from '../../cluster/registry/registry-publisher.ts';
import type { AppliedChanges } from '../../storage/registry/mirrored-rows.ts';
import { MirroredRegistryStore } from '../../storage/registry/mirrored-registry.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import type { RegistryOwner } from './membership.ts';
import type { ServerContext } from '../bootstrap/server-context.ts';

export interface NodeRegistryDeps extends Pick<CoreDeps, 'clock' | 'log'> {
  readonly link: Pick<NodeTransport, 'isUnavailable' | 'onChange' | 'bucket' | 'bucketTail'>;
  readonly tables: RegistryTables;
  /** Called when changes of other nodes were applied. Must not throw. */
  readonly applied: (changes: AppliedChanges) => void;
}

/** Maximum wait of a start for the mirror, milliseconds; then the server starts with the local copy, and the rest follows. */
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

  /** Resolves when the mirror is up to date, as far as NATS is reachable. This node makes no changes before. */
  async start(): Promise<void> {
    const { link, log } = this.#deps;
    await this.#store.adopt();
    this.#mirror.start();
    if (link.isUnavailable) log.warn({}, 'registry mirror: NATS unavailable; starting with the local copy');
    else if (!(await this.#mirror.caughtUp(caughtUpMsMax)))
      log.warn({ lag: this.lag }, 'registry mirror: not caught up; starting with the local copy');
    this.#publisher.start();
    this.#unfollow = link.onChange((isUnavailable) => {
      if (!isUnavailable) this.#publisher.poke();
    });
  }

  /** The registry was changed here. */
  changed(): void {
    this.#store.changed();
  }

  async stop(): Promise<void> {
    this.#unfollow();
    await this.#publisher.stop();
    await this.#mirror.stop();
  }
}

/** Applies changes of another node: drops caches, and reviews sessions that may have lost their rights. */
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
