import { Module } from '@nestjs/common';
import { PrismaService } from './prisma.service.ts';

/** The client, for requests and for handlers. */
@Module({ providers: [PrismaService], exports: [PrismaService] })
export class PrismaModule {}
