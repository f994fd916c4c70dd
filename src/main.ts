#!/usr/bin/env node
/** The entry of `reveille <command>`. An older Node cannot read the modules of the commands, so it is refused before they are read. */
import { findNodeSupport, supportedNodes } from './lib/package-version.ts';

const { node } = process.versions;
if (findNodeSupport(node) === 'too-old') {
  process.stderr.write(`Node ${node} is too old: install Node ${supportedNodes()}\n`);
  process.exitCode = 1;
} else await import('./command-line.ts');
