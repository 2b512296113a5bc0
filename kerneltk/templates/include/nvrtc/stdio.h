// <stdio.h> for NVRTC, which declares printf by itself.
#pragma once
typedef struct _kt_file FILE;
#define EOF (-1)
