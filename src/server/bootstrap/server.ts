/**
 * A whole server, or one process of several: its parts in the order they are put together, and how it stops. Nothing
 * listens for devices or callers until the store is open, the registry is in, and what a crash left open is closed.
 */
import { assert } from '../../lib/assert.ts';
import type { Cancel, Clock } from '../../lib/clock.ts';
import type { EventLog } from '../../core/ports/event-log.ts';
import type { Log } from '../../core/ports/log.ts';
import { openStore, type Store } from '../../storage/lmdb/open-store.ts';
import type { ImportResult } from '../../storage/registry/registry-import-messages.ts';
import type { ApiCalls } from './api.ts';
import { Back } from './back.ts';
import type { DemoRegistry } from '../config/demo-seed.ts';
import { reportExposedFiles } from '../config/exposed-files.ts';
import { recordReload, recordRestart } from './unasked-changes.ts';
import { Front } from './front.ts';
import { composeHouse, nodeName, type House } from './house.ts';
import type { Logging } from './logging.ts';
import { LiveTokenKeys, tokenKeyFileOf } from '../../storage/keys/live-token-keys.ts';
import { startMediaChild, type MediaCarrier } from '../supervisor/media-child.ts';
import { AloneMembership, type Membership, type OwnParts } from '../membership/membership.ts';
import { metricSources } from './metric-sources.ts';
import type { ProcessPlace } from '../supervisor/process-company.ts';
import { ProcessMembership } from '../membership/process-membership.ts';
import type { ListenerName } from '../supervisor/process-messages.ts';
import { reportRisks } from '../config/risks.ts';
import { hasBack, hasFront } from '../supervisor/roles.ts';
import { removeRuntimeFile, writeRuntimeFile } from './runtime-file.ts';
import type { Settings } from '../config/settings-schema.ts';
import { fillRegistry } from './start-up.ts';

export interface ServerHouse {
  readonly clock: Clock;
  readonly log: Log;
  /** Left out: a child. */
  readonly startMedia?: () => MediaCarrier;
  /** Of one process among several; left out: it is the whole server. */
  readonly place?: ProcessPlace;
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
  /** SIGUSR2, of the keeper of several processes: asks the supervisor for it. Never rejects. */
  restartWorkers(): Promise<void>;
  /** SIGTERM: drains, flushes, closes. `isHurried`: sessions are ended at once. */
  stop(isHurried?: boolean): Promise<void>;
}

/** Rejects, with everything closed again, when a part cannot start; the error is a sentence for the operator. */
export async function startServer(settings: Settings, house: ServerHouse): Promise<RunningServer> {
  const membership = await becomeMember(settings, house);
  try {
    return await startMember(settings, house, membership);
  } catch (error) {
    await membership.nodes?.hangUp();
    throw error;
  }
}

/** Rejects with a sentence when the others cannot be sought. */
async function becomeMember(settings: Settings, { clock, log, place }: ServerHouse): Promise<Membership> {
  const node = nodeName(settings);
  if (place !== undefined) return new ProcessMembership(place, node, { clock, log });
  const { nats_url: url } = settings.cluster;
  if (url === null) return new AloneMembership();
  // Loaded only here: a server without a cluster runs without the client of NATS.
  const { NodeMembership } = await import('../membership/node-membership.ts');
  return NodeMembership.open(settings, url, { clock, log, node });
}

async function startMember(
  settings: Settings,
  house: ServerHouse,
  membership: Membership,
): Promise<RunningServer> {
  // Several processes have one that supervises them, and has taken the lock for all.
  const store = openStore(settings.data.dir, { lock: house.place === undefined ? 'taken' : 'held' });
  let server: Server | null = null;
  try {
    const tokenKeys = await LiveTokenKeys.open({ ...house, file: tokenKeyFileOf(settings) });
    server = new Server(settings, { ...house, tokenKeys, membership }, store);
    await server.start();
    return server;
  } catch (error) {
    await (server ?? store).close();
    throw error;
  }
}

interface ServerFrame extends ServerHouse {
  readonly tokenKeys: LiveTokenKeys;
  readonly membership: Membership;
}

class Server implements RunningServer {
  readonly #settings: Settings;
  readonly #store: Store;
  readonly #membership: Membership;
  readonly #place: ProcessPlace | null;
  readonly #house: House;
  readonly #back: Back | null;
  readonly #front: Front | null;
  readonly #timers: Cancel[] = [];
  #listeners: RunningServer['listeners'] = { api: '', sleep: '', signal: '', media: '', ops: '' };
  #demo: DemoRegistry | null = null;

  constructor(settings: Settings, frame: ServerFrame, store: Store) {
    const { clock, log, tokenKeys, membership, startMedia = startMediaChild, place = null } = frame;
    const { announce = (fields, message) => log.info(fields, message) } = frame;
    const { nodes } = membership;
    this.#settings = settings;
    this.#store = store;
    this.#membership = membership;
    this.#place = place;
    this.#house = composeHouse(settings, store, {
      clock,
      log,
      node: nodeName(settings),
      tokenKeys,
      shared: membership.shared,
      outboxOf: nodes?.outboxOf ?? null,
      cluster: (records, parts) => membership.cluster(records, parts),
      claimed: (records, connection) => nodes?.claimed(records, connection) ?? records,
      // The share of a process is in its settings.
      sharers: (cluster) => (nodes === null ? 1 : (cluster?.peers.alive().length ?? 1)),
      countsEvents: hasBack(membership.role) && nodes === null,
      sources: metricSources(
        () => this.#parts,
        () => this.#house.connections.counts(),
        () => nodes?.figures() ?? null,
      ),
    });
    const view = membership.view(this.#house, () => this.#parts);
    const { directory: dataDirectory, registry: tables } = store;
    this.#back = hasBack(membership.role)
      ? new Back(this.#house, {
          dataDirectory,
          tables,
          startMedia,
          announce,
          ...view,
          fetchCall: nodes?.fetchCall,
          registryWritten: nodes === null ? undefined : () => nodes.registryWritten(),
          webhooks: nodes === null ? undefined : (parts) => nodes.webhooks(parts),
        })
      : null;
    this.#front = hasFront(membership.role)
      ? new Front(this.#house, { calls: () => this.#apiCalls(), place })
      : null;
  }

  get listeners(): RunningServer['listeners'] {
    return this.#listeners;
  }

  get demo(): DemoRegistry | null {
    return this.#demo;
  }

  get events(): EventLog {
    return this.#house.records.events;
  }

  async start(): Promise<void> {
    const { modeBefore, directory } = this.#store;
    const { watch, readiness, log, clock, connections } = this.#house;
    if (modeBefore !== null)
      log.warn({ directory, mode: modeBefore.toString(8) }, 'data directory closed to others');
    if (this.#back !== null) await this.#openBack(this.#back);
    await this.#membership.open(this.#house, this.#parts);
    await this.#membership.endLost(this.#house);
    // Of several processes the keeper has taken up what none of them watches.
    if (this.#membership.role === 'alone') watch.resume();
    this.#timers.push(watch.start(), connections.start(clock, log));
    const media = this.#back?.startCalls() ?? Promise.resolve('');
    media.catch(() => undefined);
    const doors = await this.#front?.listen(media);
    this.#listeners = { ...this.#listeners, ...doors, media: await media };
    if (this.#membership.role === 'alone') writeRuntimeFile(directory, this.#listeners, this.#settings);
    readiness.clear('starting');
  }

  async reload(): Promise<void> {
    // Of several processes the keeper has the audit log.
    if (this.#back === null) await this.#reload();
    else await recordReload(this.#back.audit, this.#house, () => this.#reload());
  }

  async restartWorkers(): Promise<void> {
    const restart = (): void => this.#place?.report({ kind: 'restart-workers' });
    if (this.#back !== null) await recordRestart(this.#back.audit, this.#house, restart);
  }

  async #reload(): Promise<ImportResult | null> {
    if (this.#back !== null) reportExposedFiles(this.#settings, this.#house.log);
    const imported = (await this.#back?.reload()) ?? null;
    this.#front?.reloadTls();
    await this.#house.tokenKeys.reload();
    return imported;
  }

  async stop(isHurried = false): Promise<void> {
    const { readiness, directory, log } = this.#house;
    readiness.set('draining');
    this.#membership.nodes?.draining();
    log.info({ devices: directory.size }, 'draining');
    this.#front?.endWaits();
    this.#back?.endWaits();
    await Promise.all([this.#back?.drain(), this.#front?.drain(isHurried)]);
    await this.#front?.finish();
    await this.close();
    log.info({}, 'stopped');
  }

  /** Everything that was opened; what was acknowledged is in the store before it closes. */
  async close(): Promise<void> {
    this.#house.deviceReview.stop();
    this.#back?.closeCalls();
    for (const stop of this.#timers.splice(0)) stop();
    await this.#front?.close();
    await this.#membership.close();
    await this.#house.records.close();
    await this.#back?.close();
    await this.#membership.nodes?.hangUp();
    if (this.#membership.role === 'alone') removeRuntimeFile(this.#store.directory);
    await this.#store.close();
  }

  #apiCalls(): ApiCalls {
    const own = this.#back?.calls ?? null;
    const { nodes } = this.#membership;
    if (own !== null && nodes !== null) return nodes.callsOf(own);
    const calls = own ?? this.#membership.callsElsewhere(this.#house);
    assert(calls !== null, 'somebody issues calls');
    return calls;
  }

  get #parts(): OwnParts {
    return { doors: this.#front?.doors ?? null, calls: this.#back?.calls ?? null };
  }

  /** Probes can see a start. */
  async #openBack(back: Back): Promise<void> {
    reportRisks(this.#settings, this.#house.log);
    reportExposedFiles(this.#settings, this.#house.log);
    this.#listeners = { ...this.#listeners, ops: await back.listen() };
    await this.#membership.nodes?.prepare(this.#house, back);
    this.#demo = await fillRegistry(this.#settings, this.#house, back);
    await back.startWebhooks();
  }
}
