import { ownRegistry, processesRegistry } from '../support/seen-registries.ts';
import { registryConformance } from './registry.ts';

registryConformance('a registry of its own', ownRegistry);
registryConformance('as another process has it', processesRegistry);
