/** Third-party tools that read docs/openapi.yaml, installed by install-tools.ts, with telemetry off. */
import { execFile, spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { checkout } from '../support/checkout.ts';

export const toolsFolder = fileURLToPath(new URL('.test-build/contract/', checkout));
export const apiDocument = fileURLToPath(new URL('docs/openapi.yaml', checkout));

type Tool = 'redocly' | 'spectral' | 'prism' | 'openapi-typescript';

const env = {
  ...process.env,
  REDOCLY_TELEMETRY: 'off',
  REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  // A forced colour would add escape sequences to the output.
  FORCE_COLOR: '0',
};

export interface ToolResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Resolves when the tool has ended, successfully or not. */
export function runTool(tool: Tool, args: readonly string[]): Promise<ToolResult> {
  return new Promise((resolve) => {
    execFile(pathOf(tool), args, { env, maxBuffer: 2 ** 26 }, (error, stdout, stderr) =>
      resolve({ exitCode: error === null ? 0 : Number(error.code ?? 1), stdout, stderr }),
    );
  });
}

export function startTool(tool: Tool, args: readonly string[]): ChildProcess {
  return spawn(pathOf(tool), args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

function pathOf(tool: Tool): string {
  return join(toolsFolder, 'node_modules', '.bin', tool);
}
