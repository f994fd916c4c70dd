/**
 * `reveille registry import`: imports a file into the registry. A replacing import shows what it would delete and asks for
 * confirmation at a terminal, which covers that number of entries only; without a terminal, a large deletion needs `--yes`.
 */
import { accessSync, constants } from 'node:fs';
import type { Command } from 'commander';
import type { ImportReportJson, ImportTerms } from '../../gateways/admin/import-query.ts';
import type { DeletionLimit } from '../../storage/registry/import-changes.ts';
import { newCommand, type CommandContext, inContext, untilInterrupted } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { confirmAt } from '../shell/dialogue.ts';
import { importAtRest } from '../admin/local-registry.ts';
import { describeChanges, describeDeleted, describeImported, describeProgress } from './import-view.ts';
import { nothingChanged, type FileWatch } from '../admin/ops-client.ts';
import { findOpsClient } from '../admin/running-server.ts';
import { Pace, secondsSince } from '../shell/pace.ts';

export function addImportCommand(registry: Command): void {
  newCommand(
    registry,
    'import',
    'Import a registry file, JSON or NDJSON: one transaction, all or nothing. Ctrl-C cancels it.',
    ['registry.json', 'into the running server, or into the store at rest'],
    'devices.ndjson --replace --dry-run',
  )
    .argument('<file>', 'a registry document, or NDJSON with one entry per line')
    .option('--replace', 'delete all entries that the file does not contain')
    .option('--dry-run', 'show the changes without making them')
    .option('--yes', 'delete without asking, even more than a tenth of the entries of a kind')
    .action(inContext(importRegistryFile));
}

interface ImportOptions {
  readonly replace?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

async function importRegistryFile(
  context: CommandContext,
  file: string,
  { replace = false, dryRun = false, yes = false }: ImportOptions,
): Promise<void> {
  accessSync(file, constants.R_OK);
  const ops = findOpsClient(context);
  const importing =
    ops === null
      ? new Importing(context, file, context.dataDirectory, (...sent) => importAtRest(context, file, ...sent))
      : new Importing(context, file, ops.name, (...sent) => ops.importFile(file, ...sent));
  const terms: ImportTerms = { replace, dryRun, deletions: yes ? 'any' : 'few' };
  const mayAsk = replace && !dryRun && !yes;
  await untilInterrupted(async (signal) => {
    const deletions = mayAsk ? await importing.confirm(signal) : null;
    await importing.run({ ...terms, ...(deletions !== null && { deletions }) }, signal);
  });
}

type ImportFile = (terms: ImportTerms, watch: FileWatch) => Promise<ImportReportJson>;

class Importing {
  readonly #context: CommandContext;
  readonly #file: string;
  readonly #target: string;
  readonly #importFile: ImportFile;

  /** `target`: the server or store, for people. */
  constructor(context: CommandContext, file: string, target: string, importFile: ImportFile) {
    this.#context = context;
    this.#file = file;
    this.#target = target;
    this.#importFile = importFile;
  }

  /** The confirmed number of deletions; null: there is no terminal to ask at. Throws a CommandError if the answer is no. */
  async confirm(signal: AbortSignal): Promise<DeletionLimit | null> {
    const { openDialogue, output } = this.#context;
    if (openDialogue === null) return null;
    const report = await this.#send({ replace: true, dryRun: true, deletions: 'few' }, signal);
    const deleted = describeDeleted(report);
    if (deleted === null) return {};
    output.remark(`${describeChanges(report)}\nThis would delete ${deleted} of ${this.#target}.`);
    const refused = new CommandError('not imported', nothingChanged);
    await confirmAt(openDialogue, 'Delete them? [y/N]', signal, refused);
    return report.deleted ?? {};
  }

  async run(terms: ImportTerms, signal: AbortSignal): Promise<void> {
    const { clock, output } = this.#context;
    const startedMs = clock.monotonicMs();
    const report = await this.#send(terms, signal);
    const seconds = secondsSince(clock, startedMs);
    const { counts, changes, deleted_ids, dry_run } = report;
    const json = {
      file: this.#file,
      replaced: terms.replace,
      dry_run,
      seconds,
      counts,
      changes,
      deleted_ids,
    };
    output.answer(json, dry_run ? this.#describeDryRun(report) : this.#describeDone(report, seconds));
    if (signal.aborted && !dry_run) output.remark('too late to cancel: the import was committed already');
  }

  #describeDone(report: ImportReportJson, seconds: number): string {
    return `${describeImported(report, seconds)} into ${this.#target}\n${describeChanges(report)}`;
  }

  #describeDryRun(report: ImportReportJson): string {
    const deleted = describeDeleted(report);
    const lines = [
      `dry run: importing ${this.#file} into ${this.#target} would make these changes`,
      describeChanges(report),
      ...(deleted === null ? [] : [`it would delete ${deleted}`]),
    ];
    return lines.join('\n');
  }

  async #send(terms: ImportTerms, signal: AbortSignal): Promise<ImportReportJson> {
    const { clock, output } = this.#context;
    const line = this.#context.newProgressLine();
    const pace = new Pace(clock);
    const reportCancelling = (): void => {
      line.clear();
      output.remark('cancelling the import');
    };
    signal.addEventListener('abort', reportCancelling);
    try {
      return await this.#importFile(terms, {
        onProgress: (progress) => {
          if (!output.wantsJson && !signal.aborted) line.show(describeProgress(pace, progress));
        },
        signal,
      });
    } finally {
      signal.removeEventListener('abort', reportCancelling);
      line.clear();
    }
  }
}
