#!/usr/bin/env node
import { registerDevelopmentCommands } from '../dev/commands/development-commands.ts';
import { runProgram } from '../src/cli/run-program.ts';

void runProgram([registerDevelopmentCommands]);
