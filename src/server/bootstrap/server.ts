/**
 * A whole server, or one process of several: its parts in the order they are put together, and how it stops. Nothing
 * listens for devices or callers until the store is open, the registry is in, and what a crash left open is closed.
 */
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../core/ports/log.ts';
import { logOpened, openStore, type Store } from '../../storage/lmdb/open-store.ts';
import type { ImportResult } from '../../storage/registry/registry-import-messages.ts';
import { ControlPlane } from './control-plane.ts';
import type { DemoRegistry } from '../config/demo-seed.ts';
import { reportExposedFiles } from '../config/exposed-files.ts';
import { recordReload, recordRestart } from './unasked-changes.ts';
import { Gateways } from './gateways.ts';
import { joinContext, nodeName, openContext, type ServerContext } from './server-context.ts';
import type { Logging } from './logging.ts';
import { LiveTokenKeys, tokenKeyFileOf } from '../../storage/keys/live-token-keys.ts';
import { startMediaChild, type MediaCarrier } from '../supervisor/media-child.ts';
import { AloneMembership, type Member, type Membership } from '../membership/membership.ts';
import type { WorkerHandle } from '../supervisor/worker-set.ts';
import { ProcessMembership } from '../membership/process-membership.ts';
import type { ListenerName } from '../supervisor/process-messages.ts';
import { reportRisks } from '../config/risks.ts';
import { hasControlPlane, hasGateways } from '../supervisor/roles.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { Settings } from '../config/settings-schema.ts';
import { fillRegistry } from './start-up.ts';

export interface ServerDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** Left out: a child. */
  readonly startMedia?: () => MediaCarrier;
  /** Of one process among several; left out: it is the whole server. */
  readonly handle?: WorkerHandle;
  /** Writes to the log whatever its level; left out: as what is of interest. */
  readonly announce?: Logging['announce'];
}

export interface RunningServer {
  /** Real addresses, by name; empty for what another process listens on. */
  readonly listeners: Readonly<Record<ListenerName, string>>;
  /** What a first start with nothing configured made; null otherwise. To be shown once. */
  readonly demo: DemoRegistry | null;
  readonly events: EventLog;
  /** SIGHUP: the registry file again, keys, tokens and certificates. Never rejects; failures are logged and change nothing. */
  reload(): Promise<void>;
  /** SIGUSR2, of the coordinator of several processes: asks the supervisor for it. Never rejects. */
  restartWorkers(): Promise<void>;
  /** SIGTERM: drains, flushes, closes. `isHurried`: sessions are ended at once. */
  stop(isHurried?: boolean): Promise<void>;
}

/** Rejects, with everything closed again, when a part cannot start; the error is a sentence for the operator. */
export async function startServer(settings: Settings, deps: ServerDeps): Promise<RunningServer> {
  const membership = await becomeMember(settings, deps);
  try {
    return await startMember(settings, deps, membership);
  } catch (error) {
    await membership.hangUp();
    throw error;
  }
}

/** Rejects with a sentence when the others cannot be sought. */
async function becomeMember(settings: Settings, { clock, log, handle }: ServerDeps): Promise<Membership> {
  const node = nodeName(settings);
  if (handle !== undefined) return new ProcessMembership(handle, node, { clock, log });
  const { nats_url: url } = settings.cluster;
  if (url === null) return new AloneMembership();
  // Loaded only here: a server without a cluster runs without the client of NATS.
  const { NodeMembership } = await import('../membership/node-membership.ts');
  return NodeMembership.open(settings, url, { clock, log, node });
}

async function startMember(
  settings: Settings,
  deps: ServerDeps,
  membership: Membership,
): Promise<RunningServer> {
  // Several processes have one that supervises them, and has taken the lock for all.
  const store = openStore(settings.data.dir, { lock: deps.handle === undefined ? 'taken' : 'held' });
  let server: Server | null = null;
  try {
    const tokenKeys = await LiveTokenKeys.open({ ...deps, file: tokenKeyFileOf(settings) });
    const open = openContext(settings, store, { ...deps, tokenKeys, membership });
    const member = membership.join(open);
    server = new Server(joinContext(open, member), { ...deps, membership, member }, store);
    await server.recover();
    await server.listen();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

interface MemberDeps extends ServerDeps {
  readonly membership: Membership;
  readonly member: Member;
}

class Server implements RunningServer {
  readonly #store: Store;
  readonly #membership: Membership;
  readonly #member: Member;
  readonly #handle: WorkerHandle | null;
  readonly #context: ServerContext;
  readonly #controlPlane: ControlPlane | null;
  readonly #gateways: Gateways | null;
  readonly #timers: Cancel[] = [];
  #listeners: RunningServer['listeners'] = { api: '', sleep: '', signal: '', media: '', ops: '' };
  #demo: DemoRegistry | null = null;

  constructor(context: ServerContext, deps: MemberDeps, store: Store) {
    const { log, membership, member, startMedia = startMediaChild, handle = null } = deps;
    const { announce = (fields, message) => log.info(fields, message) } = deps;
    const { directory: dataDirectory, registry: tables } = store;
    this.#store = store;
    this.#membership = membership;
    this.#member = member;
    this.#handle = handle;
    this.#context = context;
    this.#controlPlane = hasControlPlane(membership.role)
      ? new ControlPlane(context, { member, dataDirectory, tables, startMedia, announce })
      : null;
    this.#gateways = hasGateways(membership.role) ? new Gateways(context, { handle }) : null;
    context.own.calls = this.#controlPlane?.calls ?? null;
    context.own.deviceListeners = this.#gateways?.deviceListeners ?? null;
  }

  get listeners(): RunningServer['listeners'] {
    return this.#listeners;
  }

  get demo(): DemoRegistry | null {
    return this.#demo;
  }

  get events(): EventLog {
    return this.#context.records.events;
  }

  /** The registry comes in, the other members are joined, and what a crash left open is closed. */
  async recover(): Promise<void> {
    const { log } = this.#context;
    logOpened(this.#store, log);
    if (this.#controlPlane !== null) await this.#openControlPlane(this.#controlPlane);
    await this.#member.open(this.#context);
    await this.#member.recover(this.#context);
  }

  /** Devices and callers are let in. */
  async listen(): Promise<void> {
    const { watch, readiness, log, clock, connections, settings } = this.#context;
    this.#timers.push(watch.start(), connections.start(clock, log));
    const media = this.#controlPlane?.startCalls() ?? Promise.resolve('');
    media.catch(() => undefined);
    const listening = await this.#gateways?.listen(this.#member.apiCalls(this.#context), media);
    this.#listeners = { ...this.#listeners, ...listening, media: await media };
    if (this.#membership.role === 'alone') writeRuntimeFile(this.#store.directory, this.#listeners, settings);
    readiness.clear('starting');
  }

  async reload(): Promise<void> {
    // Of several processes the coordinator has the audit log.
    if (this.#controlPlane === null) await this.#reload();
    else await recordReload(this.#controlPlane.audit, this.#context, () => this.#reload());
  }

  async restartWorkers(): Promise<void> {
    const restart = (): void => this.#handle?.report({ kind: 'restart-workers' });
    if (this.#controlPlane !== null) await recordRestart(this.#controlPlane.audit, this.#context, restart);
  }

  async #reload(): Promise<ImportResult | null> {
    const { settings, log } = this.#context;
    if (this.#controlPlane !== null) reportExposedFiles(settings, log);
    const imported = (await this.#controlPlane?.reload()) ?? null;
    this.#gateways?.reloadTls();
    await this.#context.tokenKeys.reload();
    return imported;
  }

  async stop(isHurried = false): Promise<void> {
    const { readiness, directory, log } = this.#context;
    readiness.set('draining');
    this.#member.draining();
    log.info({ devices: directory.size }, 'draining');
    this.#gateways?.endWaits();
    this.#controlPlane?.endWaits();
    await Promise.all([this.#controlPlane?.drain(), this.#gateways?.drain(isHurried)]);
    await this.#gateways?.finish();
    await this.close();
    log.info({}, 'stopped');
  }

  /** Everything that was opened; what was acknowledged is in the store before it closes. */
  async close(): Promise<void> {
    this.#context.deviceReview.stop();
    this.#controlPlane?.closeCalls();
    for (const stop of this.#timers.splice(0)) stop();
    await this.#gateways?.close();
    await this.#member.close();
    await this.#context.records.close();
    await this.#controlPlane?.close();
    await this.#membership.hangUp();
    if (this.#membership.role === 'alone') removeRuntimeFile(this.#store.directory);
    await this.#store.close();
  }

  /** Probes can see a start. */
  async #openControlPlane(controlPlane: ControlPlane): Promise<void> {
    const { settings, log } = this.#context;
    reportRisks(settings, log);
    reportExposedFiles(settings, log);
    this.#listeners = { ...this.#listeners, ops: await controlPlane.listen() };
    await this.#member.prepare(this.#context, controlPlane);
    this.#demo = await fillRegistry(settings, this.#context, controlPlane);
    await controlPlane.startWebhooks();
  }
}
