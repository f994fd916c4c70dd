#!/usr/bin/env node
/** The entry of `reveille <command>`. It checks the version of Node first, since an older one cannot parse the modules of the commands. */
import { findNodeSupport, supportedNodes } from './lib/package-version.ts';

const { node } = process.versions;
if (findNodeSupport(node) === 'too-old') {
  process.stderr.write(`Node ${node} is too old: install Node ${supportedNodes()}\n`);
  process.exitCode = 1;
} else void import('./command-line.ts');
