/**
 * The client of a command: of the running server on the data directory, else of the store at rest. The latter answers in
 * process by the routes of a server; its changes hold the lock of the data directory, so that no server starts meanwhile,
 * and are lines in the audit log.
 */
import { rm } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { CommandError, usageError } from '../shell/command-error.ts';
import type { CommandContext } from '../shell/command-context.ts';
import { findOpsClient, profileClient, type ServerPlace } from './running-server.ts';
import {
  OpsUnavailableError,
  nothingChanged,
  type AdminClient,
  type FileWatch,
  type OpsClient,
  refusalOf,
} from './ops-client.ts';
import { type StoreContext, storeQueries } from './store-queries.ts';
import { assert } from '../../lib/assert.ts';
import { wallSeconds } from '../../lib/clock.ts';
import type { AuditIntent } from '../../model/audit.ts';
import {
  encodeImportReport,
  type ImportReportJson,
  type ImportTerms,
} from '../../gateways/admin/import-query.ts';
import { registryRoutes } from '../../gateways/admin/registry-routes.ts';
import { opsTokenRoutes, tokenKeyRoutes } from '../../gateways/admin/secret-routes.ts';
import {
  type AdminReply,
  type AdminRoute,
  type ChangeRoute,
  outcomeOf,
} from '../../gateways/ops/admin-route.ts';
import { importOutcome } from '../../server/bootstrap/unasked-changes.ts';
import { AuditLog } from '../../storage/audit/audit-log.ts';
import { tokenKeyFileOf } from '../../storage/keys/token-key-file.ts';
import { OpsTokenFile } from '../../storage/keys/ops-token-file.ts';
import { prepareDataDirectory, ServerLock } from '../../storage/lmdb/data-directory.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import { hasStore, requireStorePlace } from '../../storage/lmdb/store-access.ts';
import { openStore, openStoreAtRest } from '../../storage/lmdb/open-store.ts';
import { CommitSwitch } from '../../storage/registry/commit-switch.ts';
import { importInWorker } from '../../storage/registry/import-in-worker.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import { RegistryWriter } from '../../storage/registry/registry-write.ts';

/** Throws a CommandError while the server starts or stops. */
export function adminClient(context: CommandContext): AdminClient {
  return findOpsClient(context) ?? new StoreClient(context);
}

/** The registry may be read also while a server runs on it, so that only one elsewhere is asked. */
export function registryClient(context: CommandContext): Pick<AdminClient, 'ask'> {
  return context.profile === null ? new StoreClient(context) : profileClient(context.profile);
}

/** The client for what only a running server can do. Throws an OpsUnavailableError where none runs; `reason` ends its sentence. */
export function serverClient(context: ServerPlace, reason: string, advice: string): OpsClient {
  const ops = findOpsClient(context);
  if (ops !== null) return ops;
  throw new OpsUnavailableError(`no server runs on ${context.dataDirectory}${reason}`, advice);
}

/** Adds the advice to a refusal that has none, unless the server could not answer at all. */
export async function advised<Result>(advice: string, act: () => Promise<Result>): Promise<Result> {
  try {
    return await act();
  } catch (error) {
    if (!isBareRefusal(error)) throw error;
    throw new CommandError(error.message, advice, error.exitCode);
  }
}

function isBareRefusal(error: unknown): error is CommandError {
  return error instanceof CommandError && !(error instanceof OpsUnavailableError) && error.advice === null;
}

/** The routes of one change, open until it is done. */
interface OpenedRoutes {
  readonly directory: string;
  readonly routes: readonly AdminRoute[];
  close(): Promise<void>;
}

const keyFilePaths = /^\/v1\/(?:ops-tokens|token-keys)\//;

class StoreClient implements AdminClient {
  readonly isLive = false;
  readonly name = null;
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  /** Throws a StoreOpenError where there is no store. */
  async ask<Answer>(path: string, query = new URLSearchParams()): Promise<Answer> {
    const answer = storeQueries[path];
    assert(answer !== undefined, 'only a running server can answer this');
    return (await answer(this.#context, query)) as Answer;
  }

  /** Rejects with an AuditRefusal, and changes nothing, when the audit log cannot be written. */
  async change<Answer>(path: string, body: object): Promise<Answer> {
    const isOfKeyFile = keyFilePaths.test(path);
    // What is undefined is left out, as it would be on its way to a server.
    const sent = JSON.parse(JSON.stringify(body)) as object;
    const opened = isOfKeyFile ? openKeyFiles(this.#context) : openRegistry(this.#context);
    try {
      const route = opened.routes.find((each) => each.path === path);
      assert(route !== undefined && 'audit' in route, 'only a running server can change this');
      const { status, body: answer } = await this.#record(opened.directory, route, sent);
      if (status === 200) return answer as Answer;
      const { error } = answer as { readonly error: string };
      throw status === 400 && !isOfKeyFile ? usageError(error) : refusalOf(status, error);
    } finally {
      await opened.close();
    }
  }

  /** On a thread, so that this one hears who wants to cancel it. */
  async importFile(file: string, terms: ImportTerms, watch: FileWatch = {}): Promise<ImportReportJson> {
    const { onProgress, signal } = watch;
    const { dataDirectory, settings } = this.#context;
    if (terms.dryRun && !hasStore(dataDirectory)) return this.#importNowhere(file, terms, watch);
    const allowShortSecrets = settings.registry.allow_short_secrets;
    const request = { file, ...terms, skipUnchanged: false, allowShortSecrets };
    const commitSwitch = new CommitSwitch();
    const cancel = (): void => void commitSwitch.cancel();
    signal?.addEventListener('abort', cancel);
    if (signal?.aborted === true) cancel();
    const store = openStoreAtRest(dataDirectory);
    try {
      const { replace, dryRun } = terms;
      const ids = { file, replace, ...(dryRun && { dry_run: dryRun }) };
      const imported = await this.#openAudit(store.directory).record(
        { ...localUser(), action: 'registry.import', ids },
        () => importInWorker(store.directory, request, { ...(onProgress && { onProgress }), commitSwitch }),
        importOutcome,
      );
      if (imported.ok) return encodeImportReport(imported.value);
      throw new CommandError(imported.error.message, nothingChanged);
    } finally {
      signal?.removeEventListener('abort', cancel);
      await store.close();
    }
  }

  /** Where there is no store a dry run makes none. */
  async #importNowhere(file: string, terms: ImportTerms, watch: FileWatch): Promise<ImportReportJson> {
    const parent = makeTemporaryDirectory();
    const context = {
      ...this.#context,
      settings: this.#context.settings,
      dataDirectory: join(parent, 'data'),
    };
    try {
      await openStore(context.dataDirectory).close();
      return await new StoreClient(context).importFile(file, terms, watch);
    } finally {
      await rm(parent, { recursive: true });
    }
  }

  /** The line has the ids of the request from its beginning, also those that a server takes from its answer. */
  #record(directory: string, route: ChangeRoute, body: object): Promise<AdminReply> {
    const { action, asked = [], answered = {} } = route.audit;
    const names = new Set<string>([...asked, ...Object.keys(answered)]);
    const ids = Object.fromEntries(Object.entries(body).filter(([name]) => names.has(name)));
    return this.#openAudit(directory).record(
      { ...localUser(), action, ids },
      () => route.handle({ query: new URLSearchParams(), body }),
      (reply) => outcomeOf(reply, route.audit),
    );
  }

  #openAudit(directory: string): AuditLog {
    return new AuditLog({
      directory,
      clock: this.#context.clock,
      told: () => undefined,
      lost: (_line, reason) =>
        process.stderr.write(`the result of this change is not in the audit log: ${reason}\n`),
    });
  }
}

function openRegistry({ clock, dataDirectory, settings }: StoreContext): OpenedRoutes {
  const store = openStoreAtRest(dataDirectory);
  const { directory, registry } = store;
  const writer = new RegistryWriter(registry, new RegistryStore(registry));
  const rules = { allowShortSecrets: settings.registry.allow_short_secrets };
  // Nobody is connected, and nothing is derived yet.
  const changed = (): void => undefined;
  const routes = registryRoutes({
    clock,
    writer,
    rules,
    changed,
    changedEntry: changed,
    forgetDerivedKeys: changed,
  });
  return { directory, routes, close: () => store.close() };
}

/** Changes of the key files. Their reading routes are not used here: a read needs no lock. */
function openKeyFiles({ clock, dataDirectory, settings }: StoreContext): OpenedRoutes {
  requireStorePlace(dataDirectory);
  const { directory } = prepareDataDirectory(dataDirectory);
  const lock = new ServerLock(directory);
  const tokens = new OpsTokenFile(directory);
  const keys = tokenKeyFileOf(settings);
  const nowS = wallSeconds(clock);
  const routes = [
    ...opsTokenRoutes({
      stored: [],
      create: (operator) => tokens.create(operator, nowS),
      revoke: async (name) => (await tokens.revoke(name)) !== null,
    }),
    ...tokenKeyRoutes({
      stored: [],
      rotate: () => keys.rotate(nowS),
      retire: (kid) => keys.retire(kid),
    }),
  ];
  return { directory, routes, close: async () => lock.release() };
}

/** The audit log has a command under the user of the system; a container may run as a user without a name. */
function localUser(): Pick<AuditIntent, 'operator' | 'role' | 'user' | 'from'> {
  const from = `pid ${process.pid}`;
  try {
    return { operator: 'cli', role: null, user: userInfo().username, from };
  } catch {
    return { operator: 'cli', role: null, user: `uid ${process.getuid?.()}`, from };
  }
}
