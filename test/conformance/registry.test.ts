import { ownRegistry } from '../support/seen-registries.ts';
import { registryConformance } from './registry.ts';

registryConformance('a registry of its own', ownRegistry);
